/* A web worker's training: it trains one model from start to end and posts what it measures on the way.

   A trainer is a class. `new Trainer(setting, random)` is a model before training; `step()` makes one step on fresh
   data and returns its loss, `step(batch)` one on a given batch; `gradients(batch)` returns { loss, gradients } and
   changes nothing; `weights` are arrays by name; `evaluate()` returns { loss, panels }, the loss on held-out data and
   what the page draws (tab_training.js); `Trainer.EVALUATIONS` says how often that is (`evaluations` in loop.js).

   It is asked by { experiment, setting, seed }. It posts { step, steps, seconds, loss, panels } at every evaluation,
   and { diverged: step } where the loss is no longer a number. */

function trainInTab({ experiment, setting, seed }, trainers, post) {
  const begun = performance.now();
  const Trainer = trainers[experiment];
  const trainer = new Trainer(setting, new Random(seed));
  const evaluated = evaluations(setting.steps, ...Trainer.EVALUATIONS);
  for (let step = 0; ; step++) {
    if (evaluated.has(step)) {
      const measured = trainer.evaluate();
      post({ step, steps: setting.steps, seconds: (performance.now() - begun) / 1000, ...measured });
    }
    if (step === setting.steps) return;
    if (!Number.isFinite(trainer.step())) {
      post({ diverged: step });
      return;
    }
  }
}
