"""What a visitor sets, uploads and starts: settings, documents, trainings and sweeps."""
