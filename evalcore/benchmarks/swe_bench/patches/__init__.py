"""From a reply to a changed tree: take the patch out, repair its form, apply it as is official."""
