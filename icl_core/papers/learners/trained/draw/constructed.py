"""Trained learners beside a known construction in their architecture."""

import pandas as pd

from icl_core import figures
from icl_core.contract.experiment import Panel, Run
from icl_core.contract.figure import Figure
from icl_core.figures import number_text
from icl_core.figures.style import FAINT, axis, layout, legend
from icl_core.in_context_regression.learner_table import BY_ID
from icl_core.papers.learners.trained.constructions import beside, of_run
from icl_core.papers.learners.trained.load_run import learners_of
from icl_core.papers.learners.trained.settings import View

A_ROW = 38  # pixels of a row
MARGIN = 130  # pixels of the names beside it


def errors(run: Run, view: View) -> Panel:
    """Draw what each trained learner leaves beside what its construction leaves."""
    rows = beside(run)
    learners = [learner for learner in reversed(learners_of(run)) if learner.id in rows]
    names = [learner.short for learner in learners]
    trained = [rows[learner.id].trained for learner in learners]
    constructed = [rows[learner.id].constructed for learner in learners]
    figure = Figure(layout=layout(140 + A_ROW * len(names), legend=legend(1.02)))
    for name, first, second in zip(names, trained, constructed, strict=True):
        line = {"color": FAINT, "width": 3}
        figure.add_shape(type="line", x0=first, x1=second, y0=name, y1=name, line=line)
    for values, kind, symbol in (
        (constructed, "construction", "diamond"),
        (trained, "trained", "circle"),
    ):
        figure.add_scatter(
            x=values,
            y=names,
            mode="markers",
            name="constructed" if kind == "construction" else "trained",
            marker={"symbol": symbol, "size": 13, "color": figures.colour(kind)},
            hovertemplate="%{y}: %{x:.3g}",
        )
    figure.update_layout(
        xaxis=axis("share left (log)", type="log"),
        yaxis=axis("", type="category"),
        margin={"l": MARGIN, "t": 50},
    )
    better = sum(first < second for first, second in zip(trained, constructed, strict=True))
    return Panel(
        f"{better} of {len(names)} leave less than their construction",
        "Circle: what a trained learner leaves of the error of predicting zero. Diamond: what one "
        "known construction in its architecture leaves, a rule that is tuned on 1,000 prompts of "
        "the same distribution. A circle left of its diamond does better than the rule, one to the "
        "right worse. Of a model with norms the construction is that of its core without them.",
        figure,
        data=pd.DataFrame({"learner": names, "trained": trained, "constructed": constructed}).round(
            5
        ),
    )


def table(run: Run, view: View) -> Panel:
    """Tabulate the constructions, and how far each trained learner is from its own."""
    rules = of_run(run)
    every = beside(run)
    rows: list[dict[str, str]] = []
    for learner in learners_of(run):
        if learner.id not in rules:
            continue
        rule = rules[learner.id]
        row = every[learner.id]
        settings = ", ".join(
            f"{name} {number_text(value, 3)}" for name, value in rule.settings.items()
        )
        rows.append(
            {
                "learner": learner.short,
                "construction": rule.name,
                "its rule": BY_ID[rule.id].equation,
                "tuned to": settings,
                "from": learner.constructed_by,
                "trained leaves": number_text(row.trained, 3),
                "constructed leaves": number_text(row.constructed, 3),
                "apart": f"{number_text(row.distance, 3)} ± {number_text(row.error, 3)}",
            }
        )
    nearest = min(every, key=lambda id: every[id].distance)
    name = next(learner.short for learner in learners_of(run) if learner.id == nearest)
    return Panel(
        f"Nearest to its construction is {name}, {number_text(every[nearest].distance, 3)} apart",
        "“Apart” is the mean squared difference of the answers of both to the same prompts, over "
        "the error of predicting zero. The others of the twelve have no construction that is known "
        "to us: what they do is found by comparison alone.",
        table=pd.DataFrame(rows),
        data=pd.DataFrame(rows),
    )
