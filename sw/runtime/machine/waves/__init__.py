"""Waves: names of their signals, and views of them for GTKWave and Surfer."""
