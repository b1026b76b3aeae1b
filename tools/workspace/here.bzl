"""Where a repository's files are while its targets are compiled."""

def repository_folder():
    """For a BUILD file of an external repository, whose name Bazel 7 makes up."""
    if hasattr(native, "repo_name"):
        return "external/" + native.repo_name()
    return "external/" + native.repository_name().lstrip("@")
