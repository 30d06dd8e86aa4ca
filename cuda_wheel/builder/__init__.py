"""The build side: from settings to a plan, compiler calls, fatbins and manifests. `project` builds a whole project.

This file imports nothing: a worker process, or a load from a source tree, needs few of the modules.
"""
