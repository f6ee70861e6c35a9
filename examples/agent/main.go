// Command agent is a whole agent on Hippofire with nothing but net/http: it saves
// what is said, asks for the context of each model call, hands the model's tool
// calls to the functions, and files what was learned when the turn is over.
//
//	go run ./cmd/hippofire local --store embedded --functions-port 8080   # in another terminal
//	MODEL_URL=http://127.0.0.1:11434/v1 MODEL=llama3.2 go run ./examples/agent
//
// Any server of chat completions will do for the model.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	a := newAgent(
		cmp.Or(os.Getenv("HIPPOFIRE_FUNCTIONS_URL"), "http://127.0.0.1:8080"),
		cmp.Or(os.Getenv("MODEL_URL"), "http://127.0.0.1:11434/v1"),
		cmp.Or(os.Getenv("MODEL"), "llama3.2"),
	)
	a.key = os.Getenv("MODEL_KEY")
	a.tenant, a.thread = "example", "main"
	for in := bufio.NewScanner(os.Stdin); prompt() && in.Scan(); {
		answer, err := a.reply(ctx, in.Text())
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
		fmt.Println(answer)
	}
}

func prompt() bool {
	_, err := fmt.Print("> ")
	return err == nil
}
