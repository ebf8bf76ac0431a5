"""What is claimed of preconditioners that converge to Σ⁻¹."""

from icl_core.contract.experiment import Claim

TASK = {"variant": "linear", "d": 5, "n": 20, "spectrum": "paper", "layers": 3}

CLOSE = Claim(
    id="sigma-inverse",
    label="largest distance from Σ⁻¹",
    kind="paper",
    text="Each layer's Aₗ converges to a multiple of Σ⁻¹: with the schedule of the authors' code "
    "Dist(√Σ Aₗ √Σ, I), the mean of the runs, falls to about 0.02.",
    source="Appendix D, Figures 18 to 21",
    quote="we present here an empirical verification of our results per Theorem 3",
    at={
        **TASK,
        "batches": "resampled",
        "batch": 20_000,
        "clip": 0.01,
        "schedule": "halved",
        "learning_rate": 0.02,
        "beta_1": 0.99,
        "beta_2": 0.9,
        "steps": range(20_000, 30_001),
        "seeds": range(3, 6),
    },
    at_most=0.02,
    tolerance=0.01,
)
STEPS = Claim(
    id="constructed-steps",
    label="aₗ off the constructed 1/rₗ",
    kind="ours",
    text="The multiples aₗ are the steps 1/rₗ of the best polynomial, in some order; for three "
    "layers 0.42, 0.69, 1.71.",
    source="not in the paper; known for n = 20, d = 5",
    at={**TASK, "steps": range(1000, 30_001)},
    near=0.0,
    tolerance=0.1,
)
LEMMA = Claim(
    id="lemma-on-trained-weights",
    label="Lemma 2.1 on trained weights: apart",
    kind="theory",
    text="What attention over tokens leaves of every label, in every trained layer, is what the "
    "iteration w − Aₗ ∇R(w) leaves of it; the largest difference over the tokens of four prompts.",
    source="Lemma 2.1",
    near=0.0,
    tolerance=1e-10,
)

ALL = (CLOSE, STEPS, LEMMA)
