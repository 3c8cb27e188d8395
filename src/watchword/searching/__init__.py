"""Searching: model parameters chosen by cross-validation."""

from watchword.searching.result import Search, SearchedSetting
from watchword.searching.searcher import search
from watchword.searching.space import Between

__all__ = ["Between", "Search", "SearchedSetting", "search"]
