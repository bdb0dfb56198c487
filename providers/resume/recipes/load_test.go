package recipes_test

import (
	"testing"

	"github.com/landedhq/landed/providers/resume/recipes"
)

func TestEveryRecipeLoads(t *testing.T) {
	t.Parallel()
	for _, name := range recipes.Names() {
		d, err := recipes.Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if d.Name() != name {
			t.Errorf("%s calls itself %s", name, d.Name())
		}
	}
	if _, err := recipes.Load("../go"); err == nil {
		t.Error("a recipe that does not exist was loaded")
	}
}
