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
PHONE = '''
class TelecomUserTools(ToolKitBase):
    @is_tool(ToolType.READ)
    def check_status_bar(self) -> str:
        """Look at it."""

    @is_tool(ToolType.READ)
    def check_apn_settings(self) -> str:
        """Look at them."""
        return f"{name}: {address}\\nLeave them."

    @is_tool(ToolType.WRITE)
    def set_apn_settings(self, apn_settings: Union[Settings, dict], times: int = 2) -> str:
        """Set them."""

    @is_tool(ToolType.READ)
    def run_speed_test(self) -> str:
        """Try it."""
        if quality == "Poor":
            advice = "It crawls."
        elif quality == "Good":
            advice = "It runs."
        return f"{quality} {advice}"
'''
PHONE_MODELS = '''
class Names(str, Enum):
    FIRST = "first"
    OTHER = "other"

class Settings(BaseModelNoExtra):
    """All of them."""

    name: Names = Field(Names.OTHER, description="The name.")
    port: Optional[int] = Field(default=None, description="The port.")
    needed: Any
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
DEFAULT_SEED = 7
""",
    "data/tau2/user_simulator/simulation_guidelines.md": "Be a customer.<PERSONA_GUIDELINES>",
    "data/tau2/user_simulator/simulation_guidelines_tools.md": "Use tools.<PERSONA_GUIDELINES>",
    **{
        f"src/tau2/domains/{domain}/{name}.py": text
        for domain in ("retail", "airline", "telecom")
        for name, text in (("tools", TOOLS), ("data_model", MODELS))
    },
    "src/tau2/domains/telecom/user_tools.py": PHONE,
    "src/tau2/domains/telecom/user_data_model.py": PHONE_MODELS,
}


def write_sources(folder: Path, **changes: str) -> Path:
    """Write the files; `changes` replace those whose name ends so, and "" leaves one out."""
    for name, text in FILES.items():
        content = changes.get(Path(name).stem, text)
        if content:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    return folder
