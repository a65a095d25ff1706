"""The labels of the paper's TeX source with the numbers that LaTeX gives them."""

import re

NUMBERED = ("theorem", "lemma", "corollary", "assumption", "definition", "remark")  # each with a counter of its own, within sections
FLOATS = ("algorithm", "figure", "table")
EQUATIONS = ("equation", "align", "be")
TOKEN = re.compile(r"\\(?:(section)\b|(appendix)\b|(?:begin\{([a-z]+\*?)\}|(be)\b)|(end\{[a-z]+\*?\}|ee\b)|label\{([^}]+)\})")


def numbered_labels(source: str) -> dict[str, str]:
    """Label -> "(5.9)", "Lemma 4.1", "Algorithm 2", "Figure 1" or "Section 5"; comments do not count.

    Every numbered row of an `align` has a label in the paper, so an equation's number is how many labels of equations came before it.
    """
    text = re.sub(r"(?<!\\)%.*", "", source[source.index(r"\begin{document}") :])
    floats, within, sections, letters = dict.fromkeys(FLOATS, 0), {}, 0, False
    environments: list[str] = []
    labels: dict[str, str] = {}
    for section, appendix, begun, short, ended, label in TOKEN.findall(text):
        if section:
            sections, within = sections + 1, dict.fromkeys((*NUMBERED, "equation"), 0)
        elif appendix:
            sections, letters = 0, True
        elif name := begun or short:
            environments.append(name)
            counter = floats if name in FLOATS else within
            if name in (*NUMBERED, *FLOATS):
                counter[name] += 1
        elif ended:
            environments.pop()
        elif label:
            place = chr(64 + sections) if letters else str(sections)
            inside = next((name for name in reversed(environments) if name in (*EQUATIONS, *NUMBERED, *FLOATS)), "section")
            within["equation"] += inside in EQUATIONS
            numbers = dict.fromkeys(EQUATIONS, f"({place}.{within['equation']})") | {"section": f"Section {place}"}
            numbers |= {name: f"{name.capitalize()} {floats[name]}" for name in FLOATS}
            numbers |= {name: f"{name.capitalize()} {place}.{within[name]}" for name in NUMBERED}
            labels[label] = numbers[inside]
    return labels
