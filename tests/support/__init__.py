"""What several tests share: fixtures, projects, stand-ins and readers."""
