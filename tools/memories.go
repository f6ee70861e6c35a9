package tools

// ListMemories lists the names of memories.
var ListMemories = Tool{
	Name:     "list_memories",
	Function: "ListMemories",
	Description: "List the names of memories on file, latest change first: more than the MEMORIES block shows, " +
		"by kind or by words in the name, page by page. Also tells which of some exact names exist. " +
		"It returns names, not contents; open_memory reads one.",
	Parameters: object(map[string]Schema{
		"kind":   text("Keep names of this kind, the part before the first slash, such as pages; other for names without one."),
		"words":  text("Keep names that contain each of these words, in any case."),
		"limit":  integer("How many names to return; 100 unless given.", 1, 500),
		"cursor": text("The next_cursor of the page before, to go on from there with the same kind and words."),
		"names":  {Type: "array", Items: &Schema{Type: "string"}, MaxItems: 500, Description: "Instead of a page: which of these exact names exist. Not together with the other parameters."},
	}),
}

// OpenMemory reads a memory.
var OpenMemory = Tool{
	Name:     "open_memory",
	Function: "OpenMemory",
	Description: "Read one memory by its exact name, as the MEMORIES block, a line of the conversation's earlier part or list_memories gives it. " +
		"A long one comes in pages: next_offset says where the next begins.",
	Parameters: object(map[string]Schema{
		"name":   text("The memory's exact name."),
		"offset": integer("Where to begin, in bytes; 0 unless given.", 0, 1<<20),
		"limit":  integer("How many bytes to return at most; 16384 unless given.", 4, 256<<10),
	}, "name"),
}
