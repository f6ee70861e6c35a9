package tools

// OpenStretch reads the messages behind a line of the buffer.
var OpenStretch = Tool{
	Name:     "open_stretch",
	Function: "OpenStretch",
	Description: "Read the messages of this conversation behind one line of the EARLIER IN THIS THREAD block, oldest first, word for word. " +
		"A long stretch comes in pages: next_cursor asks for the next.",
	Parameters: object(map[string]Schema{
		"handle": text("The eight characters in brackets of the line."),
		"limit":  integer("How many messages to return at most; 20 unless given.", 1, 50),
		"cursor": text("The next_cursor of the page before."),
	}, "handle"),
}

// SearchHistory finds messages by their words.
var SearchHistory = Tool{
	Name:     "search_chat_history",
	Function: "SearchHistory",
	Description: "Find what was said in this conversation by words it was said in, also where no line of EARLIER IN THIS THREAD mentions it. " +
		"Gives whole messages with those around them, best first: rare words count most, so name people, places, things and figures. " +
		"The answer says whether the whole conversation was looked through; where not, next_cursor goes on further back.",
	Parameters: object(map[string]Schema{
		"query":  text("The words to look for; one distinctive word is better than a sentence."),
		"limit":  integer("How many hits to return at most; 5 unless given.", 1, 10),
		"cursor": text("The next_cursor of the search before, with the same query."),
	}, "query"),
}
