"""A checkout in the form of tau2-bench's sources, with words of our own."""

from __future__ import annotations

from pathlib import Path

TOOLS = '''
class ShopTools(ToolKitBase):
    def _find(self, order_id: str) -> str:
        """No tool."""

    @is_tool(ToolType.WRITE)
    def cancel_pending_order(self, order_id: str, reason: Reason) -> Order:
        """Cancel it.

        Only where it is pending.
        Ask first.

        Args:
            order_id: The order, such as '#W1'.
                With its sign.
            reason: Why.

        Returns:
            Order: The order.

        Raises:
            ValueError: If it is gone.
        """

    @is_tool(ToolType.READ)
    def list_all_product_types(self) -> str:
        """List them."""

    @is_tool(ToolType.WRITE)
    def change(self, rows: List[Row | dict], amount: int, fast: bool, kinds: list[str]) -> str:
        """Change rows.

        Args:
            rows: All of them.
        """
'''
MODELS = '''
Reason = Literal["no longer needed", "ordered by mistake"]

class Row(BaseModel):
    """One row."""

    number: str = Field(description="Its number.")
    share: float
'''
FILES = {
    "src/tau2/agent/llm_agent.py": '''
AGENT_INSTRUCTION = """
Serve.
""".strip()
SYSTEM_PROMPT = """
<do>{agent_instruction}</do>
<rules>{domain_policy}</rules>
""".strip()
''',
    "src/tau2/user/user_simulator.py": '''
SYSTEM_PROMPT = """
{global_user_sim_guidelines_with_persona}
<story>{instructions}</story>
""".strip()
''',
    "src/tau2/orchestrator/orchestrator.py": """
DEFAULT_FIRST_AGENT_MESSAGE = AssistantMessage(role="assistant", content="Welcome!", cost=0.0)
""",
    "src/tau2/config.py": """
DEFAULT_MAX_STEPS = 12
DEFAULT_MAX_ERRORS = 4
DEFAULT_LLM_TEMPERATURE_AGENT = 0.25
DEFAULT_LLM_TEMPERATURE_USER = 0.5
""",
    "data/tau2/user_simulator/simulation_guidelines.md": "Be a customer.<PERSONA_GUIDELINES>",
    **{
        f"src/tau2/domains/{domain}/{name}.py": text
        for domain in ("retail", "airline")
        for name, text in (("tools", TOOLS), ("data_model", MODELS))
    },
}


def write_sources(folder: Path, **changes: str) -> Path:
    """Write the files; `changes` replace those whose name ends so, and "" leaves one out."""
    for name, text in FILES.items():
        content = changes.get(Path(name).stem, text)
        if content:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    return folder
