package op

// Prompt leads an agent through the tools of one toolset. MCP clients list prompts and fill in
// their arguments.
type Prompt struct {
	// Name is unique in the catalogue; Title and Doc are for people.
	Name, Title, Doc string
	// Toolset is the set whose tools the prompt names. A key that may not use the set does not see the prompt.
	Toolset   string
	Arguments []Argument
	// Text is a text/template over the arguments. The function quote marks an argument as the caller's words, so that
	// they cannot be taken for the prompt's own.
	Text string
}

// Argument is an argument of a prompt.
type Argument struct {
	Name, Doc string
	Required  bool
}
