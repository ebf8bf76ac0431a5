"""The stage: panels under one clock, and the drawers below them."""
