"""Chat templates in the manner of the common families, written for the tests."""

from __future__ import annotations

#: ChatML with tools as JSON in the system turn and calls between tags (Hermes, Qwen).
CHATML = """
{%- if tools -%}
<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}Functions on offer:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% elif messages[0].role == 'system' -%}
<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role == 'assistant' -%}
<|im_start|>assistant
{% if message.reasoning_content %}<think>{{ message.reasoning_content }}</think>{% endif -%}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'user' -%}
<|im_start|>user
{{ message.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif -%}
""".strip("\n")

#: Llama 3: headers around roles, calls as bare JSON with `parameters`.
LLAMA = """
{%- for message in messages -%}
<|start_header_id|>{{ 'ipython' if message.role == 'tool' else message.role }}<|end_header_id|>

{% if message.tool_calls -%}
{%- if message.tool_calls | length != 1 -%}
{{ raise_exception('one call at a time') }}
{%- endif -%}
{%- set function = message.tool_calls[0].function -%}
{"name": "{{ function.name }}", "parameters": {{ function.arguments | tojson }}}
{%- elif message.role == 'tool' -%}
{"output": {{ message.content | tojson }}}
{%- else -%}
{% if tools and loop.last %}Offered: {% for tool in tools %}{{ tool | tojson }}{% endfor %}
{% endif %}{{ message.content | trim }}
{%- endif -%}<|eot_id|>
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start_header_id|>assistant<|end_header_id|>

{% endif -%}
""".strip("\n")

#: Mistral: refuses a system turn (like its first models and Gemma's), turns that do not alternate
#: and call ids of another form than nine letters and digits.
MISTRAL = """
{%- set turn = namespace(user=true) -%}
{%- if tools -%}
[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'system' -%}
{{ raise_exception('there is no system turn') }}
{%- elif message.role == 'tool' -%}
{%- if message.tool_call_id | length != 9 -%}
{{ raise_exception('a call id has 9 signs') }}
{%- endif -%}
[TOOL_RESULTS]{"content": {{ message.content | tojson }}
{{- ', "id": "' ~ message.tool_call_id ~ '"}' -}}
[/TOOL_RESULTS]
{%- elif message.tool_calls -%}
[TOOL_CALLS][
{%- for call in message.tool_calls -%}
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}
{{- ', "id": "' ~ call.id ~ '"}' -}}
{%- if not loop.last %}, {% endif -%}
{%- endfor -%}
]</s>
{%- set turn.user = true -%}
{%- else -%}
{%- if (message.role == 'user') != turn.user -%}
{{ raise_exception('turns must alternate') }}
{%- endif -%}
{%- set turn.user = not turn.user -%}
{%- if message.role == 'user' -%}
[INST] {{ message.content }} [/INST]
{%- else -%}
{{ ' ' ~ message.content }}</s>
{%- endif -%}
{%- endif -%}
{%- endfor -%}
""".strip("\n")
