"""The JSON schema of `[tool.cuda-wheel]` for validate-pyproject, from the same fields that the parser uses."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from cuda_wheel.builder.config.settings import Config, ModuleConfig, Settings

__all__ = ["table_schema"]


def table_schema(tool: str = "cuda-wheel") -> dict[str, Any]:
    """Return the schema of the table: the entry point of the group `validate_pyproject.tool_schema`."""
    schema = _object(Config)
    schema["properties"]["module"]["items"] = _object(ModuleConfig) | {"required": ["name"]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "urn:cuda-wheel:pyproject-table",
        "title": f"[tool.{tool}]",
        **schema,
    }


def _object(cls: type[Settings]) -> dict[str, Any]:
    properties = {
        item.name.replace("_", "-"): {"description": item.metadata["doc"], **item.metadata["schema"]}
        for item in fields(cls)
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}
