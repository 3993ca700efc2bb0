# Any byte may be in a name. None but printable ones may reach a terminal; columns must stay where they are.
perfbox cpuwait --root @hostile-names
