"""The body of a request: where a message has images, its content is a list of parts."""

from __future__ import annotations

from evalcore.records import GenerationRequest, Message
from evalcore.targets.endpoint.chat import build_request_body
from evalcore.targets.endpoint.dialect import Capabilities

PICTURE = "data:image/png;base64,AAAA"


def sent(*messages: Message):
    return build_request_body(GenerationRequest(messages), {"model": "m"}, Capabilities())[
        "messages"
    ]


def test_text_stays_a_text():
    assert sent(Message("user", "Hi.")) == [{"role": "user", "content": "Hi."}]


def test_images_follow_the_text():
    [message] = sent(Message("user", "What is this?", images=(PICTURE, PICTURE)))
    text, *images = message["content"]
    assert text == {"type": "text", "text": "What is this?"}
    assert images == [{"type": "image_url", "image_url": {"url": PICTURE}}] * 2
