package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// everyCommand returns a command with all below it, also hidden ones.
func everyCommand(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, below := range cmd.Commands() {
		all = append(all, everyCommand(below)...)
	}
	return all
}

func TestOnWindowsTheCommandsThatStartClientsRefuseAndSayWhatToDo(t *testing.T) {
	t.Parallel()
	var refused []string
	for _, cmd := range everyCommand(Commands()) {
		if err := refusal(cmd, true, "linux"); err != nil {
			t.Errorf("on Linux: %v", err)
		}
		err := refusal(cmd, false, "windows")
		if err == nil {
			continue
		}
		name := nameOfCommand(cmd)
		refused = append(refused, name)
		if !strings.Contains(err.Error(), "parley "+name+" does not work on windows: ") ||
			!strings.Contains(err.Error(), "WSL 2") && !strings.Contains(err.Error(), "no daemon is needed") {
			t.Errorf("%s says %v", name, err)
		}
	}
	slices.Sort(refused)
	if want := []string{"agent", "connectd", "runner", runnerChild, runnerPane}; !slices.Equal(refused, want) {
		t.Errorf("refused are %v, not %v", refused, want)
	}
}
