package app

import "testing"

func TestEveryOperationHasItsCases(t *testing.T) {
	t.Parallel()
	for _, o := range catalogue().Ops() {
		if o.Cases == nil {
			t.Errorf("%s has no cases: give its spec examples, refused inputs and the ids that it takes", o.Name)
			continue
		}
		if err := o.Cases().Check(o); err != nil {
			t.Error(err)
		}
	}
}
