"""Property tests draw the same cases every time, and none of them is timed: machines are noisy."""

from hypothesis import settings

settings.register_profile("lambdarr", deadline=None, derandomize=True)
settings.load_profile("lambdarr")
