"""Streams: policies, the readers that apply them post by post, and their state."""

from watchword.streams.function_model import FunctionModel
from watchword.streams.policies import (
    After,
    AllOf,
    AnyOf,
    Leaps,
    Overtakes,
    Policy,
    RankedBy,
    Reaches,
    ReachesFalling,
    Repeats,
    StandsOut,
    Stays,
    Step,
    Weighs,
    policy_from_dict,
)
from watchword.streams.readers import Decision, Reader, Watcher, teach

__all__ = [
    "After",
    "AllOf",
    "AnyOf",
    "Decision",
    "FunctionModel",
    "Leaps",
    "Overtakes",
    "Policy",
    "RankedBy",
    "Reaches",
    "ReachesFalling",
    "Reader",
    "Repeats",
    "StandsOut",
    "Stays",
    "Step",
    "Watcher",
    "Weighs",
    "policy_from_dict",
    "teach",
]
