"""What servers mean that refuse a request for its length, in their own words."""

from __future__ import annotations

from evalcore.targets.length_refusals import LengthRefusal, read_length_refusal
from tests.support.rows import each_row

OVERFLOW = LengthRefusal("overflow")
LIMIT = LengthRefusal("limit")
EITHER = LengthRefusal("either")


def lower(most, lasting=False):
    return LengthRefusal("lower", most, lasting)


@each_row(
    ("text", "limit", "expected"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 "
            "tokens (1000 in the messages, 4000 in the completion). Please reduce the length.",
            4000,
            lower(3096),
        ),
        (
            "This model's maximum context length is 4,096 tokens. However, you requested 5,050 "
            "tokens (1000 in the messages, 50 in the functions, and 4000 in the completion).",
            4000,
            lower(3046),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 9000 "
            "tokens (5000 in the messages, 4000 in the completion).",
            4000,
            OVERFLOW,
        ),
        (
            "This model's maximum context length is 4096 tokens. However, your messages resulted "
            "in 5000 tokens. Please reduce the length of the messages.",
            100,
            OVERFLOW,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum "
            "context length is 4096 tokens and your request has 1000 input tokens (5000 > 4096 - "
            "1000).",
            5000,
            lower(3096),
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 32 output "
            "tokens and your prompt contains at least 8161 input tokens, for a total of at least "
            "8193 tokens.",
            32,
            lower(31),
        ),
        (
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            10,
            OVERFLOW,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You "
            "requested a total of 5000 tokens: 1000 tokens from the input messages and 4000 tokens "
            "for the completion.",
            4000,
            lower(3096),
        ),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and "
            "4000 `max_new_tokens`",
            4000,
            lower(3096),
        ),
        ("`inputs` must have less than 1024 tokens. Given: 2000", 10, OVERFLOW),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 204698, decrease "
            "input length or `max_tokens` and try again",
            20000,
            lower(14698),
        ),
        ("prompt is too long: 210000 tokens > 200000 maximum", 4096, OVERFLOW),
        (
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens",
            100000,
            lower(8192, lasting=True),
        ),
        (
            "max_tokens is too large: 50000. This model supports at most 16384 completion tokens, "
            "whereas you provided 50000.",
            50000,
            lower(16384, lasting=True),
        ),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            9000,
            lower(8192, lasting=True),
        ),
        ("Range of max_tokens should be [1, 8192]", 9000, lower(8192, lasting=True)),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` "
            "is less than the `context_window` for this model",
            9000,
            lower(8192, lasting=True),
        ),
        (
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            10,
            OVERFLOW,
        ),
        ("the request exceeds the available context size, try increasing it", 64, OVERFLOW),
        (
            "Trying to keep the first 9000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens",
            64,
            OVERFLOW,
        ),
        ("Input is too long for requested model.", 64, OVERFLOW),
        ("Range of input length should be [1, 129024]", 64, OVERFLOW),
        ("Your request exceeded model token limit: 131072", 64, EITHER),
        ("Your request exceeded model token limit: 131072", None, OVERFLOW),
        (
            "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            64,
            OVERFLOW,
        ),
        (
            "ContextWindowExceededError: Input tokens exceed the configured limit of 272000 "
            "tokens. Your messages resulted in 300000 tokens.",
            64,
            OVERFLOW,
        ),
        ("length of prompt_tokens (9000) must be less than max_seq_len (8192).", 64, OVERFLOW),
        ("Requested tokens (5000) exceed context window of 4096", None, OVERFLOW),
        (
            "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
            "5000. Try using a shorter prompt.",
            64,
            OVERFLOW,
        ),
        ("Total tokens of image and text exceed max message tokens", 64, OVERFLOW),
        ("Prompt exceeds max length", 64, OVERFLOW),
        (
            "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this "
            "model",
            64,
            OVERFLOW,
        ),
        ("context_length_exceeded: lower max_tokens or the prompt", 64, EITHER),
        ("context_length_exceeded: lower max_tokens or the prompt", None, OVERFLOW),
        ("unknown field context", 64, None),
        ("too long a name", 64, None),
        ("Unsupported parameter: 'max_tokens', use 'max_completion_tokens' instead", 64, None),
        ("maximum context length is 99999999999999999999999999 tokens", 64, OVERFLOW),
    ],
)
def test_prompt_and_limit_are_told_apart(text, limit, expected):
    assert read_length_refusal(400, text, limit) == expected
    assert read_length_refusal(401, text, limit) is None


def test_a_hostile_text_is_read_in_linear_time():
    for piece in ("max_tokens", "maximum context length is ", "1 + 1 > ", "tokens 1 ", "[1, "):
        read_length_refusal(400, piece * 5_000, 10)
