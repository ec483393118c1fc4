"""Templates in the style of the known families, written for this comparison, and conversations to run them on."""

TURN = "{%- for m in messages %}"


def _chatml(extra=""):
    return (TURN + "{{- '<|im_start|>' + m.role + '\\n' }}" + extra + "{{- m.content if m.content is string else m.content|tojson }}"
            "{{- '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}")


BLOCKS = {
    "plain": "{{ m.content }}",
    "trim": "{{ m.content | trim if m.content is string else '' }}",
    "parts": "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content or [] %}{% if p.type == 'text' %}"
             "{{ p.text }}{% elif p.type == 'image' or 'image_url' in p %}<image>{% else %}{{ raise_exception('part ' ~ p.type) }}"
             "{% endif %}{% endfor %}{% endif %}",
    "think": "{% set c = m.content if m.content is string else '' %}{% if m.role == 'assistant' and '</think>' in c %}"
             "{% set c = c.split('</think>')[-1].lstrip('\\n') %}{% endif %}{{ c }}",
    "reason": "{% if m.reasoning_content is defined and m.reasoning_content %}<think>\n{{ m.reasoning_content.strip('\\n') }}\n"
              "</think>\n\n{% endif %}{{ m.content or '' }}",
    "calls": "{{ m.content if m.content is string and m.content else '' }}{% if m.tool_calls %}{% for t in m.tool_calls %}"
             "{% set f = t.function if t.function is defined else t %}\n<tool_call>\n"
             "{\"name\": \"{{ f.name }}\", \"arguments\": {{ f.arguments | tojson if f.arguments is mapping else f.arguments }}}\n"
             "</tool_call>{% endfor %}{% endif %}",
    "items": "{{ m.content or '' }}{% for t in m.tool_calls or [] %}<f={{ t.function.name }}>{% for k, v in t.function.arguments|items %}"
             "<p={{ k }}>{{ v if v is string else v|tojson(indent=1) }}</p>{% endfor %}</f>{% endfor %}",
}

TOOLS = {
    "none": "",
    "json": "{% if tools %}{{ '<|tools|>' + tools|tojson + '\\n' }}{% endif %}",
    "lines": "{% if tools is defined and tools is not none and tools|length %}# Tools\n{% for t in tools %}\n"
             "{{ t | tojson(indent=4, sort_keys=true) }}{% endfor %}\n\n{% endif %}",
    "signature": "{% macro kind(p) %}{{ {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool'}[p.type]"
                 "|default(p.type) }}{% endmacro %}{% for t in tools or [] %}{% set f = t.function or t %}def {{ f.name }}("
                 "{% for n, p in (f.parameters.properties or {}).items() %}{{ n }}: {{ kind(p) }}{% if not loop.last %}, {% endif %}"
                 "{% endfor %}) # {{ f.description|default('no words')|replace('\\n', ' ') }}\n{% endfor %}",
}

FRAMES = {
    "chatml": lambda b, t: t + TURN + "{{- '<|im_start|>' + m.role }}\n" + b + "{{- '<|im_end|>' }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "headers": lambda b, t: "{{- bos_token }}" + t + "{% for m in messages %}{{- '<|start_header_id|>' ~ m['role'] ~ '<|end_header_id|>\\n\\n' }}"
    + b + "{{- '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    "inst": lambda b, t: "{{ bos_token }}{% set ns = namespace(first=true, sys='') %}" + t + "{%- for m in messages %}"
    "{% if m.role == 'system' %}{% set ns.sys = m.content ~ '\\n\\n' %}{% elif m.role == 'user' or m.role == 'tool' %}"
    "{{ '[INST] ' ~ (ns.sys if ns.first else '') }}" + b + "{{ ' [/INST]' }}{% set ns.first = false %}"
    "{% else %}" + b + "{{ eos_token }}{% endif %}{% endfor %}",
    "strict": lambda b, t: "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set sys = messages[0]['content'] %}"
    "{% else %}{% set rest = messages %}{% set sys = none %}{% endif %}" + t + "{% for m in rest %}"
    "{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}"
    "{% if loop.first and sys %}<<SYS>>{{ sys }}<</SYS>>\n{% endif %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
    + b + "<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    "reverse": lambda b, t: t + "{% set ns = namespace(last=-1) %}{% for m in messages[::-1] %}{% if m.role == 'user' and ns.last < 0 %}"
    "{% set ns.last = messages|length - 1 - loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}"
    "{% if loop.index0 > ns.last and m.role == 'assistant' %}[late]{% endif %}{{ loop.index }}/{{ loop.length }} {{ m.role|upper }}: "
    + b + "\n{% if loop.last %}{% break %}{% endif %}{% endfor %}{{ strftime_now('%d %B %Y') }}",
    "macro": lambda b, t: t + "{% macro turn(m, name='x') -%}\n<{{ name }}>" + b + "{{ caller() if caller is defined else '' }}</{{ name }}>\n"
    "{%- endmacro %}{% for m in messages %}{% call turn(m, name=m.role) %}!{% endcall %}{% generation %}{% if loop.nextitem is defined %}~"
    "{% endif %}{% endgeneration %}{% else %}empty{% endfor %}",
}


def templates():
    """Every frame with every block, and every way of naming tools at least once with every frame."""
    kinds = list(TOOLS)
    out = {}
    for i, (frame_name, frame) in enumerate(FRAMES.items()):
        for j, (block_name, block) in enumerate(BLOCKS.items()):
            tools = kinds[(i + j) % len(kinds)]
            out[f"{frame_name}/{block_name}/{tools}"] = frame(block, TOOLS[tools])
    return out


def _tool(name, **properties):
    return {"type": "function", "function": {"name": name, "description": f"Does {name}.\nWell.", "parameters": {
        "type": "object", "properties": properties, "required": list(properties)[:1]}}}


def conversations():
    u = lambda t, **k: {"role": "user", "content": t, **k}
    a = lambda t, **k: {"role": "assistant", "content": t, **k}
    s = lambda t: {"role": "system", "content": t}
    call = lambda name, args, i="call00001": {"id": i, "type": "function", "function": {"name": name, "arguments": args}}
    weather = _tool("weather", city={"type": "string"}, days={"type": "integer"})
    add = _tool("add", a={"type": "number"}, b={"type": "number"})
    texts = ["Hi", "  spaces around \n", "na\u00efve \U0001f336 \u4f60\u597d", "<|im_end|>\n<|im_start|>system", "a\nb\n\nc", "",
             "{{ not a template }} {% if %}", "quotes ' \" \\ & < >"]
    lists = [[u(t)] for t in texts]
    lists += [[s("Be brief."), u(t), a("ok"), u("more")] for t in texts[:4]]
    lists += [
        [u("q"), a("<think>\nhm\n</think>\n\nanswer"), u("again")],
        [u("q"), a("answer", reasoning_content="\nbecause\n"), u("why?")],
        [u("q"), a(None, tool_calls=[call("weather", {"city": "Oslo", "days": 2})]),
         {"role": "tool", "content": "{\"t\": 3}", "name": "weather", "tool_call_id": "call00001"}, a("3 degrees")],
        [u("q"), a("", tool_calls=[call("add", {"a": 1.5, "b": [1, None, True], "c": {"d": "\u00e9<"}}), call("x", {}, "call00002")])],
        [u("q"), a("let me see", tool_calls=[call("weather", "{\"city\": \"Oslo\"}")])],
        [u([{"type": "text", "text": "see"}, {"type": "image"}, {"type": "text", "text": "this"}])],
        [u([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "x"}}]), a("a cat")],
        [u([{"type": "audio"}])], [u("1"), u("2"), u("3")], [a("first"), u("second")], [s("only rules")], [],
        [s("s1"), s("s2"), u("x")], [u("x", name="Ada")],
    ]
    out = []
    for i, messages in enumerate(lists[:25]):
        variables = {"messages": messages, "add_generation_prompt": i % 2 == 0, "bos_token": "<s>", "eos_token": "</s>"}
        if i % 3 == 0:
            variables["tools"] = [weather, add]
        elif i % 3 == 1:
            variables["tools"] = None
        out.append(variables)
    return out
