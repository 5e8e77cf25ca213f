package wire_test

import (
	"testing"

	"harness/internal/runtime/wire"
)

// The changes of a turn add up to one diff that `git apply` accepts, for every form of report of an agent.
func TestTheDiffOfATurn(t *testing.T) {
	t.Parallel()
	so := ""
	for _, edit := range []wire.FileEdit{
		{Path: "/w/new.txt", Kind: "add", Diff: "one\ntwo"},
		{Path: "/w/sub/a.txt", Kind: "update",
			Diff: "Index: /w/sub/a.txt\n====\n--- /w/sub/a.txt\n+++ /w/sub/a.txt\n@@ -1 +1 @@\n-a\n+b\n"},
		{Path: "b.txt", Kind: "delete", Diff: "@@ -1 +0,0 @@\n-@@ b\n"},
		{Path: "/else/c", Kind: "add"},
	} {
		so = wire.TurnDiff(so, "/w", []wire.FileEdit{edit})
	}
	const want = "diff --git a/new.txt b/new.txt\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n" +
		"diff --git a/sub/a.txt b/sub/a.txt\n--- a/sub/a.txt\n+++ b/sub/a.txt\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-@@ b\n" +
		"diff --git a/else/c b/else/c\n--- /dev/null\n+++ b/else/c\n"
	if so != want {
		t.Errorf("it is\n%s", so)
	}
}
