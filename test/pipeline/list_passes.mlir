// RUN: mlirad-opt --list-passes | filecheck %s --check-prefix=LIST
// RUN: mlirad-opt --help | filecheck %s --check-prefix=HELP

// LIST: {{^}}differentiate-reverse{{$}}
// LIST: {{^}}split-parallel-loops{{$}}

// HELP: --differentiate-reverse {{ *}}Replace every public function by its reverse
// HELP: --split-parallel-loops {{ *}}Outline parallel loops{{.*}} Options: threads=1
// HELP: --cpu-pipeline {{.*}}threads=1 {{.*}}fast_math=true
// HELP: --cpu-reverse-pipeline
