"""What hypothesis draws: channels, and products of a few of them."""

from hypothesis import strategies as st

from lambdarr import Attribute, Channel, Design

sizes = st.integers(2, 6)
keep_rates = st.floats(0.05, 1.0)
channels = st.builds(Channel, sizes, keep_rates)
products = st.lists(channels, min_size=1, max_size=3)


def design_of(channels_):
    """Return a design with attributes a0, a1, … of integer categories for these channels."""
    attributes = tuple(Attribute(f"a{j}", range(channel.size)) for j, channel in enumerate(channels_))
    return Design(attributes, tuple(channels_))
