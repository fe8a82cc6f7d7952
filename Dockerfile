# The CPU image: docker build -t mindtorch . && docker run --rm -it -v "$PWD:/work" mindtorch train.py
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY setup.py setup.cfg pyproject.toml README.md LICENSE ./
COPY mindtorch_proxy mindtorch_proxy
COPY runtime runtime
COPY backends backends
COPY stubs stubs
COPY examples examples
RUN pip install --no-cache-dir '.[cpu]' && mindtorch-activate --install --with-metadata && python -m mindtorch_proxy doctor
WORKDIR /work
ENTRYPOINT ["python", "-m", "mindtorch_proxy"]
