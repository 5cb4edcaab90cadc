//! Reads what an ELF program needs: its loader and libraries.

use std::io::{Read, Seek};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, elf};

use super::{FileHandle, Glibc, Machine, Program};

/// Maximum number of version requirements to examine. Programs have a few dozen.
const VERSIONS: usize = 2048;

pub(super) fn examine<Elf, R>(file: FileHandle<'_, R>) -> Program
where
    Elf: FileHeader<Endian = Endianness>,
    R: Read + Seek,
{
    let header = Elf::parse(file).and_then(|header| Ok((header, header.endian()?)));
    let Ok((header, endian)) = header else { return Program::Unusable("an ELF file with a broken header") };
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return Program::Unusable("an ELF file that is not a program");
    }
    let Ok(segments) = header.program_headers(endian, file) else {
        return Program::Unusable("an ELF file with a broken header");
    };
    if segments.is_empty() {
        return Program::Unusable("an ELF file that is not a program");
    }
    let interpreter = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, file).ok().flatten())
        .map(|path| String::from_utf8_lossy(path).into_owned());
    let machine = machine(header.e_machine(endian), header.is_class_64(), header.is_little_endian());
    Program::Elf { machine, system: system(header), interpreter, glibc: glibc(header, endian, file) }
}

fn machine(machine: elf::Machine, is_64: bool, is_little_endian: bool) -> Machine {
    match (machine, is_64, is_little_endian) {
        (elf::EM_X86_64, true, true) => Machine::X8664,
        (elf::EM_AARCH64, true, true) => Machine::Aarch64,
        (elf::EM_386, false, true) => Machine::X86,
        (elf::EM_ARM, ..) => Machine::Other("32-bit ARM".to_owned()),
        (elf::EM_RISCV, ..) => Machine::Other("RISC-V".to_owned()),
        (elf::EM_X86_64, ..) => Machine::Other("x32".to_owned()),
        (other, ..) => Machine::Other(format!("machine {}", other.0)),
    }
}

fn system<Elf: FileHeader<Endian = Endianness>>(header: &Elf) -> &'static str {
    match header.e_ident().os_abi {
        elf::ELFOSABI_NETBSD => "netbsd",
        elf::ELFOSABI_SOLARIS => "solaris",
        elf::ELFOSABI_FREEBSD => "freebsd",
        elf::ELFOSABI_OPENBSD => "openbsd",
        _ => "linux",
    }
}

/// The newest glibc version among the symbol versions that the program requires.
fn glibc<Elf, R>(header: &Elf, endian: Endianness, file: FileHandle<'_, R>) -> Option<Glibc>
where
    Elf: FileHeader<Endian = Endianness>,
    R: Read + Seek,
{
    let sections = header.sections(endian, file).ok()?;
    let (libraries, link) = sections.gnu_verneed(endian, file).ok()??;
    let strings = sections.strings(endian, file, link).ok()?;
    libraries
        .flatten()
        .take(VERSIONS)
        .flat_map(|(_, versions)| versions.flatten())
        .take(VERSIONS)
        .filter_map(|version| parse(version.name(endian, strings).ok()?))
        .max()
}

/// Parses `GLIBC_2.17` or `GLIBC_2.2.5`.
fn parse(name: &[u8]) -> Option<Glibc> {
    let mut numbers = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some(Glibc { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_ordered_as_numbers() {
        assert!(parse(b"GLIBC_2.17") > parse(b"GLIBC_2.2.5"));
        assert!(parse(b"GLIBC_2.2.5").is_some());
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GCC_3.0"), None);
    }
}
