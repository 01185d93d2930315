package op

// Guide is a line of the instructions that an MCP client shows its model at the start.
type Guide struct {
	// Line is a sentence, with %s for the name of each tool. It must not hold text of a user or an agent.
	Line string
	// Tools are the operations that the line names, in its order. The line is shown where the endpoint serves all of them
	// and the caller may call them, and with the names that they have there.
	Tools []string
}
