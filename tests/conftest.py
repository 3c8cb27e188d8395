"""Settings shared by all tests."""

from hypothesis import HealthCheck, settings

# Times vary with the machine: no deadline. CI draws the same examples every time.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=2000)
settings.load_profile("default")
