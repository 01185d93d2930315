package op

// Prompt leads an agent through the tools of one toolset. MCP clients list prompts and fill in
// their arguments.
type Prompt struct {
	// Name is unique in the catalogue; Title and Doc are for people.
	Name, Title, Doc string
	// Toolset is the set whose tools it names; a key that does not reach the set does not see it.
	Toolset   string
	Arguments []Argument
	// Text is a text/template over the arguments. The function quote marks an argument as the
	// words of the caller, which cannot pass for the prompt's own.
	Text string
}

// Argument is one of a prompt's.
type Argument struct {
	Name, Doc string
	Required  bool
}
