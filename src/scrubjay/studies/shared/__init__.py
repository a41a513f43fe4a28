"""What several studies use: methods, cases, the paper's values, the workspace."""
