"""The picture of a model's way to a graph is that of today's compiler."""

from __future__ import annotations

import xml.etree.ElementTree

from manual.sam_models import PATH, drawing


def test_picture_is_up_to_date():
    text = drawing()
    assert PATH.read_text(encoding="utf-8") == text
    xml.etree.ElementTree.fromstring(text)
