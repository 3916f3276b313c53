// Reads the files of a directory in the order in which Go lists them, and prints a sum of their bytes. Built static, it makes its system
// calls by itself.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	sum := 0
	for _, directory := range os.Args[1:] {
		entries, err := os.ReadDir(directory)
		if err != nil {
			panic(err)
		}
		for _, entry := range entries {
			contents, err := os.ReadFile(filepath.Join(directory, entry.Name()))
			if err != nil {
				panic(err)
			}
			for _, value := range contents {
				sum = (sum*31 + int(value)) % 1000003
			}
		}
	}
	fmt.Println(sum)
}
