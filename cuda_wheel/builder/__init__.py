"""The build side: settings to plan to compiler calls to fatbins and manifests. `project` builds all of a project.

Nothing is imported here: workers and source trees that load one module need few of these files.
"""
