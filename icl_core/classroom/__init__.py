"""A class that answers: its session, what phones vote, and what is drawn and kept of it.

A lecturer opens a session and shows a question of a story or of a lesson; phones that know its code
answer, and the spread is seen once the lecturer opens it. Nothing is kept of a voter but the vote.
In place of a question they may draw the settings of a sweep by lot, which are then trained.
"""
