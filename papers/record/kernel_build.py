"""gcc builds part of Linux, as make would: cc1 reads a file with its headers and writes assembler to a temporary file, as reads that
and writes an object; in the end ar puts the objects into a library, which ld reads.

Linux is as Debian configured it, from its packages of the source and of the headers that a configuration generates. Files that
belong to what is not configured are left out: those that do not compile, or want a file that a build makes first.
"""

import shutil
import subprocess

import inputs

HEADERS = "linux-headers-6.1.0-56-cloud-amd64"
PARTS = ("include", "arch/x86/include", "kernel", "mm")
COMPILED = "kernel/*.c"

# As the kernel's own Makefile has it, where it matters for what is read.
INCLUDE = ("arch/x86/include", "arch/x86/include/generated", "include", "arch/x86/include/uapi", "arch/x86/include/generated/uapi",
           "include/uapi", "include/generated/uapi")
FIRST = ("compiler-version", "kconfig", "compiler_types")
GCC = " ".join(["gcc -nostdinc -D__KERNEL__ -std=gnu11 -w -O2", *(f"-I{it}" for it in INCLUDE),
                *(f"-include include/linux/{it}.h" for it in FIRST),
                "-ffreestanding -fno-strict-aliasing -fno-PIE -fshort-wchar -fno-common -fno-asynchronous-unwind-tables",
                "-m64 -mcmodel=kernel -mno-red-zone -mno-sse -mno-mmx -mno-80387 -mindirect-branch=thunk-extern",
                "-pg -mfentry -DCC_USING_FENTRY"])


def compilation(source):
    name = source.stem
    return f"{GCC} -D__KBUILD_MODNAME=kmod_{name} " + " ".join(
        f"-DKBUILD_{it}='\"{name}\"'" for it in ("MODNAME", "BASENAME", "MODFILE")) + f" -c {source}"


def prepare(folder):
    inputs.kernel_source(folder, PARTS, inputs.is_code)
    folder.chmod(0o777)
    (configured,) = (inputs.package(folder.parent, HEADERS) / "usr/src").iterdir()
    for part in ("include", "arch/x86/include"):
        shutil.copytree(configured / part, folder / part, dirs_exist_ok=True)
    lines = []
    for source in sorted(path.relative_to(folder) for path in folder.glob(COMPILED)):
        checked = subprocess.run(f"{compilation(source)} -fsyntax-only", shell=True, cwd=folder, capture_output=True)
        if checked.returncode == 0 and ".incbin" not in (folder / source).read_text():
            lines.append(f"{compilation(source)} -o out/{source.stem}.o\n")
    lines += ["ar rcs out/library.a out/*.o\n", "ld -r -o out/linked.o --whole-archive out/library.a\n"]
    (folder / "build").write_text("".join(lines))


def command():
    """What is built is built anew."""
    return "rm -rf out tmp && mkdir out tmp && TMPDIR=tmp sh -e build"
