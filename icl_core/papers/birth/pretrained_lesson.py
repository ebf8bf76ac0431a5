"""The lesson on a real language model, from the shipped run alone. Imports no torch until an answer
is asked for."""

from icl_core.contract.experiment import Run
from icl_core.contract.lesson import EXPERIMENTS, PRESETS, SETTINGS, TRAIN, Exercise, Lesson, Note
from icl_core.contract.story import Try

MEMORIES = "The memories"
HEADS = "Heads in numbers"
TYPED = "Your own text"
WORKING = 15  # minutes


def _shares(run: Run) -> tuple[int, int, int]:
    """Return how many heads find what followed, find the previous token, and there are."""
    from icl_core.papers.birth.pretrained.load_run import roles
    from icl_core.papers.birth.shared.behaviour import INDUCTION, PREVIOUS

    every = list(roles(run).values())
    return every.count(INDUCTION), every.count(PREVIOUS), len(every)


def _share(run: Run) -> float:
    induction, previous, every = _shares(run)
    return 100 * (induction + previous) / every


def _few(run: Run) -> str:
    induction, previous, every = _shares(run)
    return (
        f"{induction} heads score high as induction heads and {previous} as previous-token heads, "
        f"of {every}. What the others do, random tokens do not show."
    )


def _losses(run: Run) -> tuple[float, float, float]:
    """Return the loss of the second half with all heads, without the group of the strongest, and
    without as many random ones."""
    from icl_core.papers.birth.pretrained.load_run import half_losses

    _, second = half_losses(run)
    at = run["ablation/heads"].tolist().index(int(run["ablation/group"]))
    strongest = run["ablation/strongest"][:, at, 1]
    return (
        float(second.mean()),
        float(strongest.mean()),
        float(run["ablation/random"][:, at, 1].mean()),
    )


def _rise(run: Run) -> float:
    whole, strongest, _ = _losses(run)
    return strongest - whole


def _why_rise(run: Run) -> str:
    whole, strongest, random = _losses(run)
    return (
        f"It rises from {whole:.2f} to {strongest:.2f} nats. Without as many random heads it is "
        f"{random:.2f}: to take any heads away is not what costs so much."
    )


def _needed(run: Run) -> str:
    """Return the previous-token head without which another head loses most attention on what
    followed."""
    from icl_core.papers.birth.pretrained.load_run import attention_lost

    lost = attention_lost(run)
    return run.names("previous")[int(lost.argmax()) // lost.shape[1]]


def _looks_back(run: Run) -> float:
    """Return the attention of that head on the previous token, in percent."""
    from icl_core.papers.birth.pretrained.load_run import place_of, scores

    return 100 * float(scores(run, "previous")[place_of(run, _needed(run))])


def _why_needed(run: Run) -> str:
    from icl_core.papers.birth.pretrained.load_run import attention_lost

    head = _needed(run)
    lost = attention_lost(run)
    others = [row for row, name in enumerate(run.names("previous")) if name != head]
    next_most = lost[others].max()
    return (
        f"It is head {head}: without it an induction head loses up to {lost.max():.2f} of its "
        f"attention on what followed, without any other previous-token head {next_most:.2f} "
        "at most. To look at the previous token is not enough: a later head has to read it."
    )


EXERCISES = (
    Exercise(
        "few",
        "Under “View”, colour the heads by induction, then by previous token. How many of all "
        "heads score high, 0.4 or more, in one of the two? In percent, to one decimal.",
        "%",
        _share,
        0.1,
        _few,
        "The title over the map counts them, once for each colouring. Add both and divide by all.",
    ),
    Exercise(
        "without",
        "Put a mean output in the place of the twelve heads that look most at what followed. By "
        "how many nats does a token of the second half then cost more? Within 0.3.",
        "nats",
        _rise,
        0.3,
        _why_rise,
        "Subtract the two losses in the title of the panel about heads that are taken away.",
    ),
    Exercise(
        "needed",
        "“The memories” show which previous-token head an induction head loses most attention "
        "without. How much of its own attention does that head have on the previous token? In "
        "percent, within 2.",
        "%",
        _looks_back,
        2,
        _why_needed,
        "Find the darkest cell of the map “attention lost”; its row is the head. “Heads in "
        "numbers” says what this head looks at.",
    ),
)

NOTES = (
    Note(
        6,
        "A language model reads random tokens, and then the same ones again. What can it know of "
        "the second half?",
        ("“Nothing: they are random.”", "“All of it, from the first half.”"),
        "Nothing that it has learned of language helps here, so what the loss falls by is learned "
        "in context. Show the two halves, and ask which two steps an induction head needs for "
        "that.",
        Try("The loss of both halves", marks=("losses",)),
    ),
    Note(
        7,
        "How many of the model's heads do you expect to look at what followed the token before?",
        ("“One: one is enough.”", "“Most of them.”"),
        "Collect numbers before you show the map. Then colour it by previous token, too, "
        "and ask which of these heads stand below an induction head, where it can read them.",
        Try("All heads, by their induction score", fields={"score": "followers"}, marks=("heads",)),
    ),
    Note(
        7,
        "The heads look where an induction head looks. Does that show that the model uses them?",
        ("“Yes, why else would they look there?”", "“Only if it gets worse without them.”"),
        "Looking is not using: what a head reads may be ignored. So they are taken away, and as "
        "many random heads for comparison. Let the students say beforehand what either line does.",
        Try("Heads taken away", marks=("without",)),
    ),
    Note(
        8,
        "The paper says that W_K² is a memory: a token's query finds what a previous-token head "
        "has written about it. How would you ask a trained model?",
        ("“Look at the matrix.”", "“Ask it for every token, and count.”"),
        "That is the paper's recall, for every pair of heads. One pair stands out. Then ask for "
        "the limits: the tokens compete by the hundred here, and random tokens say nothing about "
        f"language. Leave them {WORKING} minutes for the exercises.",
        Try("W_K² through each pair of heads", marks=("pairs",)),
    ),
)

LESSON = Lesson(
    name="language-model",
    title="Find the induction head in a language model",
    able=(
        "find the two kinds of heads by where they look",
        "tell a head that looks from one that the model needs",
        "say what the paper's construction does not explain in a real model",
    ),
    experiment="pretrained",
    preset="smollm2",
    exercises=EXERCISES,
    notes=NOTES,
    working=WORKING,
    hidden=(PRESETS, SETTINGS, TRAIN, EXPERIMENTS, TYPED, "Evidence"),
    predict=("heads", "without"),
)
