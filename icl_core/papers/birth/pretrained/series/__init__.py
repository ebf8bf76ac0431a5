"""A series of checkpoints of one model in training: when do its heads appear?"""
