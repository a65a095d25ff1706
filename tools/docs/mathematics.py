"""A hook of mkdocs: LaTeX becomes MathML while the site is built, so that pages need neither JavaScript nor a network.

`pymdownx.arithmatex` finds the formulae; a formula that cannot be converted ends the build.
"""

import re
from html import unescape

from math_core import LatexError, LatexToMathML
from mkdocs.exceptions import PluginError

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', flags=re.S)
CONVERTER = LatexToMathML(fancy_error=False)


def on_page_content(html, *, page, **_):
    """The page with its formulae as MathML; those on lines of their own can be scrolled."""

    def converted(found):
        tag, bracket, latex = found.groups()
        try:
            mathml = CONVERTER.convert_with_local_state(unescape(latex).strip(), displaystyle=bracket == "[")
        except LatexError as error:
            raise PluginError(f"{page.file.src_path}: {unescape(latex).strip()}: {error}") from error
        return f'<{tag} class="formula">{mathml}</{tag}>'

    return FORMULA.sub(converted, html)
