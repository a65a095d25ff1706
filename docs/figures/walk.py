"""Draw docs/figures/walk.svg: the walk of one query, from the front door to the user's function and back. Run it from the root."""

from pathlib import Path

WIDTH, BOX, HEIGHT, GAP = 860, 390, 46, 20
DOWN = [
    ("minimize(fun, x0, ...)", "doors/minimize.py: what the user calls"),
    ("prepare(Arguments) -> Setup", "doors/arguments.py: checks, before anything is evaluated"),
    ("opened(setup) -> Session", "runs/opened.py: the folder and the progress line"),
    ("carry_out(session, crew)", "runs/carrying.py: until there is no open batch"),
    ("conversation(solver, state, rule)", "runs/loop.py: the only loop"),
    ("solver.ask(state) -> batch", "solvers: which points to evaluate"),
    ("evaluate(crew, ledger)", "evaluation/evaluate.py: hands the batch out"),
    ("crew.submit(i)", "evaluation/crews: a thread, processes, a cluster"),
    ("answer_queries(problem, batch, [i])", "evaluation/evaluate.py: makes the point, calls fun"),
]
BACK = [
    ("Naming.told(result)", "naming.py: x as the user gave it"),
    ("certify(...), message(...)", "runs/certify.py, verdict.py: what is shown, and its name"),
    ("Observer.stepped(session)", "runs/checkpoint, progress: the state on record"),
    ("solver.tell(state, values)", "solvers: the next state"),
    ("Session.settle()", "runs/session.py: the batch is complete, the loop goes on"),
    ("Ledger.receive(answer)", "evaluation/faults.py: taken, skipped or tried again"),
    ("Session.note(answer)", "runs/session.py: on record before anyone acts on it"),
    ("crew.collect() -> answers", "evaluation/crews: in any order"),
    ("Answer", "evaluation/faults.py: the value, or what went wrong"),
]


def box(x: int, y: int, words: tuple[str, str]) -> str:
    name, what = words
    return (
        f'<rect x="{x}" y="{y}" width="{BOX}" height="{HEIGHT}" rx="6" class="box"/>'
        f'<text x="{x + 12}" y="{y + 19}" class="name">{name.replace("->", "&#8594;")}</text>'
        f'<text x="{x + 12}" y="{y + 36}" class="what">{what}</text>'
    )


def arrow(x: int, start: int, end: int) -> str:
    return f'<line x1="{x}" y1="{start}" x2="{x}" y2="{end}" class="arrow" marker-end="url(#tip)"/>'


def picture() -> str:
    left, right, top = 10, WIDTH - BOX - 10, 36
    rows = [top + i * (HEIGHT + GAP) for i in range(len(DOWN))]
    bottom = rows[-1] + HEIGHT + 34
    parts = [box(left, y, words) for y, words in zip(rows, DOWN, strict=True)]
    parts += [box(right, y, words) for y, words in zip(rows, BACK, strict=True)]
    middle_left, middle_right = left + BOX // 2, right + BOX // 2
    parts += [arrow(middle_left, y + HEIGHT, y + HEIGHT + GAP - 2) for y in rows[:-1]]
    parts += [arrow(middle_right, y, y - GAP + 2) for y in rows[1:]]
    parts.append(arrow(middle_left, rows[-1] + HEIGHT, bottom - 2))
    parts.append(arrow(middle_right, bottom, rows[-1] + HEIGHT + 2))
    wide = WIDTH - 20
    parts.append(f'<rect x="10" y="{bottom}" width="{wide}" height="{HEIGHT}" rx="6" class="user"/>')
    parts.append(f'<text x="{WIDTH // 2}" y="{bottom + 29}" text-anchor="middle" class="name">fun(x): the user&#8217;s function</text>')
    parts.append(f'<text x="{middle_left}" y="22" text-anchor="middle" class="head">there</text>')
    parts.append(f'<text x="{middle_right}" y="22" text-anchor="middle" class="head">and back</text>')
    style = (
        ".box{fill:#f5f6fa;stroke:#3f51b5;stroke-width:1.2}.user{fill:#fff4e0;stroke:#c77700;stroke-width:1.4}"
        ".name{font:600 13.5px ui-monospace,DejaVu Sans Mono,monospace;fill:#1b1f3a}"
        ".what{font:11.5px system-ui,DejaVu Sans,sans-serif;fill:#4a4f6a}"
        ".head{font:600 14px system-ui,DejaVu Sans,sans-serif;fill:#5b6ad0}.arrow{stroke:#5b6ad0;stroke-width:1.6}#tip path{fill:#5b6ad0}"
    )
    shape = 'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"'
    tip = f'<marker id="tip" {shape}><path d="M0 0L8 4L0 8z"/></marker>'
    height = bottom + HEIGHT + 10
    label = "The walk of one query from minimize to the user's function and back"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" aria-label="{label}">'
    return f"{head}<defs>{tip}</defs><style>{style}</style>{''.join(parts)}</svg>\n"


if __name__ == "__main__":
    Path("docs/figures/walk.svg").write_text(picture())
