/* Browsers allow no workers on pages that are opened from the disk. There the search runs in a hidden frame instead,
   under the name by which the theme knows such frames. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const page = frame.contentWindow;
      page.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      page.importScripts = (...urls) =>
        urls.reduce((before, next) => before.then(() => this.load(page, next)), Promise.resolve());
      this.page = page;
      this.ready = this.load(page, url);
    }
    load(page, url) {
      return new Promise((resolve, reject) => {
        const script = page.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        script.onerror = reject;
        page.document.body.appendChild(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.page.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.page.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
