"""What is told of a mixture of Gaussians."""

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Example, Question, Story, Task, Try
from icl_core.papers.memformers.mixture.draw.losses import ADAPTED, GATED, LINEAR
from icl_core.papers.memformers.mixture.metrics import by_component
from icl_core.papers.memformers.mixture.settings import Config, View, mixture_of
from icl_core.papers.memformers.shared.captions import TO, compared
from icl_core.papers.memformers.shared.load_run import end

ALIKE = 0.1  # the logarithm of a ratio of errors: within 10% they count as equal


def _apart(run: Run, method: str) -> float:
    """Return how far a method is above the linear transformer with gates, in the logarithm of the
    error."""
    return end(run, f"evaluated/{method}") - end(run, f"evaluated/{LINEAR}")


def _behind(run: Run, view: View) -> str:
    return (
        f"With four layers the Memformer's error is {compared(_apart(run, GATED))} the linear "
        "transformer's."
    )


def _overcome(run: Run, view: View) -> str:
    return (
        "If a Memformer may also change its memory Γ on the new prompts, its error is "
        f"{compared(_apart(run, ADAPTED))} the linear transformer's. The paper says as much."
    )


def _better(run: Run, view: View) -> int:
    above = by_component(run).mean(0)  # [M]
    worse = (above > ALIKE).sum()
    better = (above < -ALIKE).sum()
    return 2 if worse == better else int(worse > better)


def _each(run: Run, view: View) -> str:
    phrases = [
        f"{compared(float(apart))} the other's on the curve around {mean:g}".replace(
            "-", "\N{MINUS SIGN}"
        )
        for apart, mean in zip(by_component(run).mean(0), mixture_of(run.config).means, strict=True)
    ]
    return f"A head with memory has an error {', '.join(phrases[:-1])} and {phrases[-1]}."


def _task(config: Config) -> str:
    curves = f"of {len(mixture_of(config).means)} bell curves"
    drawn = (
        f"{'the x of a prompt come' if config.prompts == 'components' else 'every x comes'} from "
        f"one {curves}"
    )
    return (
        f"Here x is a single number ({drawn}), and its label is x times a hidden weight. One head "
        "has been trained for each curve; on prompts of all of them, only the gates that mix the "
        "heads are learned."
    )


STORY = Story(
    task=Task(
        _task,
        Example(
            (
                ("2", "x"),
                TO,
                ("6", "y"),
                ("  ", ""),
                ("−1", "x"),
                TO,
                ("−3", "y"),
                ("  ", ""),
                ("3", "query"),
            ),
            "9",
        ),
    ),
    beats=(
        Beat(
            "order",
            "The paper found this order as well; its points are the rings.",
            None,
            ("gated heads",),
            ask=Question(
                "Heads with memory (a Memformer) or without (a linear transformer): with learned "
                "gates, which have the smaller error on new prompts?",
                ("Those with memory", "Those without", "Neither: within 10%"),
                lambda run, view: (
                    2 if abs(_apart(run, GATED)) < ALIKE else int(_apart(run, GATED) > 0)
                ),
                _behind,
                "The paper says that the memory of a head overfits to its own curve. Another "
                "reading comes next: that these heads were not trained for long enough.",
                (HEADLINE, "gated heads", "gates shown", "picked", "gates learning"),
            ),
        ),
        Beat("memory", _overcome, None, ("gated heads",)),
        Beat(
            "heads",
            "Lines without memory still fall when the training ends, and those with memory "
            "(dashed) have hardly moved for a while: 300 steps are too few.",
            None,
            ("training",),
            drawer="All curves",
            ask=Question(
                "Put the gates aside. Each head alone, on prompts of its own curve, after its 300 "
                "steps of training: which heads are better?",
                ("Those with memory, on most", "Those without, on most", "Neither"),
                _better,
                _each,
                "With as few steps the heads with memory are not trained yet, so that gates have "
                "worse heads to mix. Train them ten times as long (see Try), and the gap closes: "
                "who is ahead then differs from seed to seed.",
                ("training", "picked"),
            ),
        ),
        Beat(
            "close",
            "You have seen that an order in a figure may be one of training, and not of models. "
            "How far one model is ahead depends on when you stop.",
            None,
            ("gated heads",),
        ),
    ),
    tries=(
        Try(
            "Train the heads ten times as long, at five times the rate: which model is ahead now?",
            "trained longer",
            marks=("gated heads",),
        ),
        Try(
            "Take one layer: why are all methods equal there?",
            fields={"depth_shown": 1},
            marks=("gated heads", "gates shown"),
        ),
        Try(
            "Give the gates prompts of one curve only: do they pick its head?",
            drawer="Gates and prompts",
            marks=("picked",),
        ),
        Try(
            "Draw every number of a prompt from the mixture: what a model does is then one curve",
            "mixed tokens",
            marks=("shapes",),
        ),
        Try(
            "Move one curve far away: one of them rules the prompts", "far apart", marks=("shapes",)
        ),
    ),
)
