"""What a visitor sets, gives and starts: settings, uploads, trainings and sweeps."""
