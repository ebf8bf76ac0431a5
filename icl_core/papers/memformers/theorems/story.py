"""What is told of the theorems."""

from icl_core.contract.experiment import Run
from icl_core.contract.story import HEADLINE, Beat, Question, Story, Task, Try
from icl_core.papers.memformers.shared.captions import EXAMPLE
from icl_core.papers.memformers.theorems.draw.number_text import power
from icl_core.papers.memformers.theorems.metrics import apart
from icl_core.papers.memformers.theorems.settings import View

ALIKE = 1.5  # a factor within which errors count as alike


def _loss(run: Run, name: str) -> float:
    return float(run[f"others/loss/{name}"][-1])


def _another(run: Run, view: View) -> int:
    own = _loss(run, "own")
    other = _loss(run, "other")
    zero = float(run["others/loss/own"][0])
    return 0 if other < ALIKE * own else 1 if other < zero else 2


def _other(run: Run, view: View) -> str:
    own = _loss(run, "own")
    other = _loss(run, "other")
    zero = float(run["others/loss/own"][0])
    return (
        f"After {run.config.layers} layers the median error is {own:.2g} with a prompt's own α and "
        f"γ, and {other:.2g} with another prompt's. Before the first layer it was {zero:.2g}."
    )


def _mean(run: Run, view: View) -> int:
    own, other, mean = (_loss(run, name) for name in ("own", "other", "mean"))
    return 0 if mean < ALIKE * own else 1 if mean < other else 2


def _of_mean(run: Run, view: View) -> str:
    other = _loss(run, "other")
    mean = _loss(run, "mean")
    return (
        f"With the mean over all prompts the median error is {mean:.2g}; with one other prompt's "
        f"it was {other:.2g}."
    )


def _exact(run: Run, view: View) -> str:
    largest = max(apart(run, name) for name in run.names("methods"))
    return (
        "Lines are the methods, rings what the layers of the Memformer hold. With the right "
        f"numbers put in they agree to {power(largest)}, which is the computer's rounding."
    )


def _follows(run: Run, view: View) -> str:
    return (
        f"Prompt {view.prompt} has other examples, and the rings are on their lines again. "
        "Conjugate gradient's numbers were computed anew; momentum's and Nesterov's are the same "
        "for all prompts."
    )


def _stationary(run: Run, view: View) -> str:
    near, right = (float(run[f"gradient/{place}"][-1]) for place in ("near", "construction"))
    return (
        "What fixed numbers can do is another question. At the right multiples of Σ⁻¹ (orange) "
        f"training stands still: on {run['gradient/size'][-1]:,} prompts the gradient is "
        f"{right:.2g}, sampling noise that falls on with more prompts. A tenth away from there it "
        f"stays at {near:.1f}, however many prompts one takes."
    )


STORY = Story(
    task=Task(
        "The paper proves that a Memformer can carry out conjugate gradient, which finds a "
        "prompt's hidden weights from its pairs of x and label. Nothing is trained here: numbers "
        "are put in, and the layers are compared with the method.",
        EXAMPLE,
    ),
    beats=(
        Beat(
            "other",
            "So the theorem speaks of one prompt: a Memformer can be conjugate gradient there, "
            "and not on all prompts with one set of numbers.",
            None,
            ("differences",),
            ask=Question(
                "Conjugate gradient computes a step size α and a memory γ, how much it keeps of "
                "its last step, for each layer of each prompt. Put one prompt's α and γ into the "
                "Memformer, and show it another prompt. How good is it?",
                (
                    "Nearly as good",
                    "Worse, but better than at its start",
                    "No better than at its start",
                ),
                _another,
                _other,
                "The numbers belong to the prompt's own examples: a step that is right along "
                "one prompt's steep direction is too long along that of another prompt.",
                (HEADLINE, "differences", "losses", "distances"),
            ),
        ),
        Beat(
            "exact",
            _exact,
            None,
            ("paths", "table"),
            {"prompt": 0},
            "What is put in",
            do="Choose another prompt below.",
            done=lambda view: view.prompt != 0,
            then=_follows,
        ),
        Beat(
            "mean",
            "A mean of good methods need not be a good method.",
            None,
            ("losses",),
            drawer="Another prompt",
            ask=Question(
                "Do not take another prompt's α and γ, but the mean over all prompts. What "
                "becomes of the error after four layers?",
                (
                    "Nearly as small as with its own",
                    "Smaller than with those of another prompt",
                    "Even larger than with those of another prompt",
                ),
                _mean,
                _of_mean,
                "A few prompts have very long steps, and they carry the mean away with them. A "
                "training that chooses fixed numbers finds others, and another method.",
                ("losses", "distances"),
            ),
        ),
        Beat("stationary", _stationary, None, ("gradient",)),
        Beat(
            "close",
            "You have seen what is proven: with a prompt's own numbers a Memformer is conjugate "
            "gradient. Fixed numbers cannot be that for all prompts, and fixed numbers are what "
            "training finds.",
            None,
            ("paths", "differences", "gradient"),
        ),
    ),
    tries=(
        Try(
            "Put in Nesterov's method: see its numbers",
            fields={"method": "nesterov"},
            drawer="What is put in",
            marks=("table",),
        ),
        Try(
            "Put in conjugate gradient's numbers: they differ from prompt to prompt",
            fields={"method": "cgd-gamma"},
            drawer="What is put in",
            marks=("table",),
        ),
        Try(
            "Read the errata: which of them would have sent a program the wrong way?",
            drawer="The errata",
            marks=("errata",),
        ),
        Try(
            "Count the numbers that each model learns, beside CGD's for 100 prompts",
            fields={"batch": 100},
            drawer="Parameters",
            marks=("count", "counts"),
        ),
        Try("Take ten dimensions and six layers", "ten", marks=("paths", "differences")),
    ),
)
