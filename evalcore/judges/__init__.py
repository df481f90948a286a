"""A panel of models that votes on what cannot be executed; it never sees a target.

`panel.ask` puts one question to every judge and counts the votes, `scale_rule` counts recorded
votes as SCALE published it, `agreement` says how far judges agree with each other and with engines.
"""
